*** Settings ***
Documentation       Three controllers on one etcd share the switches out. Each switch has one master; when that one ends, hangs or leaves, another one goes on and pods
...                 feel nothing. What switches and clients say comes through whoever owns them.
Resource            ../resources/coeus.resource
Library             ../libraries/Etcd.py
Library             ../libraries/Owners.py
Library             ../libraries/Storm.py
Library             ../libraries/DhcpClients.py
Suite Setup         Start Three Controllers And Four Nodes
Suite Teardown      Stop Lab On Etcd

*** Variables ***
${POOLS}            /restconf/config/dhcp_allocation_pool:dhcp_allocation_pool

*** Test Cases ***
Each Switch Has One Master And Each Controller Has Switches
    Masters Should Become    b    c    b    a

All Tell The Same Of All Switches
    All Should Tell The Same Of Switches    a    b    c
    Counters Should Come From All    a    c

A Write Waits For The Switch Of Another Controller
    ${body}=    Pod Body    q1    blue    1    10.11.1.30
    ${uid}=    Pod Uid    blue:q1
    Plug Pod    q1    blue    1    10.11.1.30/24    10.11.1.1
    ${body}=    Evaluate    {"pod:pods": $body["pod:pods"]}
    ${said}=    Written And Programmed    c    /rests/data/pod:coe/pods=${uid}    ${body}
    Should Contain    ${{json.dumps($said)}}    programmed
    Should Not Contain    ${{json.dumps($said)}}    pending
    Ping Should Pass Once    blue:q1    10.11.2.10

Who Asks For An Address Is Answered Through The Owner
    ${pool}=    Evaluate    {"dhcp_allocation_pool:network": [{"dhcp_allocation_pool:allocation-pool": [{"dhcp_allocation_pool:subnet": "192.168.10.0/24", "dhcp_allocation_pool:allocate-to": "192.168.10.9", "dhcp_allocation_pool:gateway": "192.168.10.2", "dhcp_allocation_pool:allocate-from": "192.168.10.3"}], "dhcp_allocation_pool:network-id": "green"}]}
    PUT On Session    coeus    ${POOLS}/    json=${pool}    expected_status=201
    FOR    ${node}    IN    2    4
        Create Pod    d${node}    green    ${node}
        Plug Pod    d${node}    green    ${node}
        ${address}=    Get Lease    green:d${node}
        ${lease}=    Resource Should Exist    ${OPERATIONAL}/coeus-dhcp:leases/lease/green:d${node}
        Should Be Equal    ${lease}[coeus-dhcp:lease][0][address]    ${address}
    END

A Controller That Leaves Hands Its Switches Over
    Start Probes    blue:p2    10.11.4.10    12000
    ${begun}=    Now
    Signal Controller    c    TERM
    Created And Reachable    r1    2    ${begun}    5
    Masters Should Become    b    b    b    a
    ${code}=    Exit Code Of    c
    Should Be Equal As Integers    ${code}    0
    Nothing Was Lost

One That Comes Takes Nothing Away
    Start Controller Named    c
    Wait Until Standby    c
    Masters Should Stay    b    b    b    a

The Owner That Follows Is Killed
    Start Probes    blue:p1    10.11.4.10    25000
    ${begun}=    Now
    Signal Controller    b    KILL
    Exit Code Of    b
    Created And Reachable    r2    1    ${begun}    15
    Masters Should Become    c    c    c    a
    Nothing Was Lost
    Start Controller Named    b
    Wait Until Standby    b
    All Should Tell The Same Of Switches    a    b    c

The Owner That Writes Is Killed
    Start Probes    blue:p4    10.11.2.10    30000
    ${begun}=    Now
    Signal Controller    a    KILL
    Exit Code Of    a
    ${writer}=    One Of These Takes Over    15    b    c
    Open Session
    Created And Reachable    r3    4    ${begun}    16
    Masters Should Become    c    c    c    b
    Nothing Was Lost
    Start Controller Named    a
    Wait Until Standby    a
    All Should Tell The Same Of Switches    a    b    c

An Owner That Hangs Is Refused When It Goes On
    ${writer}=    Active Controller
    ${hangs}=    Set Variable If    "${writer}" == "c"    b    c
    Start Probes    blue:p1    10.11.4.10    30000
    Signal Controller    ${hangs}    STOP
    Sleep    16 s
    Signal Controller    ${hangs}    CONT
    Masters Should Stay Single    8
    Created And Reachable    r4    1    ${{time.monotonic()}}    15
    Created And Reachable    r5    4    ${{time.monotonic()}}    15
    Nothing Was Lost

And All Is As It Should Be
    Wait For Switches
    All Pods Should Reach All    blue
    FOR    ${name}    IN    a    b    c
        Signal Controller    ${name}    TERM
    END
    FOR    ${name}    IN    a    b    c
        ${code}=    Exit Code Of    ${name}
        Should Be Equal As Integers    ${code}    0
    END
    ${folder}=    Folder Of Copy
    ${code}    ${text}=    Copy Store    etcd://127.0.0.1:2379/coeus    sled:${folder}
    Should Be Equal As Integers    ${code}    0    ${text}
    Switches Should Be As In    ${folder}

*** Keywords ***
Start Three Controllers And Four Nodes
    Start Lab On Etcd    0    controllers=3
    FOR    ${name}    IN    b    c
        Start Controller Named    ${name}
        Wait Until Standby    ${name}
    END
    # By these numbers the switches go to b, c, b and a, and after them to c, b, c and b.
    Add Nodes    6    2    11    3
    Open Session
    FOR    ${node}    IN RANGE    1    5
        Announce Node    ${node}    10.11.${node}.0/24
        Create And Plug Pod    p${node}    blue    ${node}    10.11.${node}.10    10.11.${node}.1
    END
    All Pods Should Reach All    blue
    # A datapath in user space may lose a packet while it gets a port: these are there before anything is counted.
    FOR    ${name}    ${node}    IN    r1    2    r2    1    r3    4    r4    1    r5    4
        ${number}=    Evaluate    40 + int($name[1:])
        Plug Pod    ${name}    blue    ${node}    10.11.${node}.${number}/24    10.11.${node}.1
    END
    Wait For Switches

Created And Reachable
    [Documentation]    A new pod, whose port is there, is served by its switch so many seconds after `begun` at the latest.
    [Arguments]    ${name}    ${node}    ${begun}    ${seconds}
    ${number}=    Evaluate    40 + int($name[1:])
    Create Pod    ${name}    blue    ${node}    10.11.${node}.${number}
    Ping Should Pass    blue:${name}    10.11.2.10    ${seconds}
    ${took}=    Seconds Since    ${begun}
    Should Be True    ${took} < ${seconds}

Nothing Was Lost
    ${sent}    ${lost}=    Probes Lost
    Should Be Equal As Integers    ${lost}    0
