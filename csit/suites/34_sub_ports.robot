*** Settings ***
Documentation       Pods in a virtual machine: the machine has one port of its node's switch, and each pod a VLAN on it. What the CNI plugin and the agent in the
...                 machine make, the switch outside tells apart.
Resource            ../resources/coeus.resource
Library             ../libraries/Cni.py
Library             ../libraries/Machines.py
Library             ../libraries/Services.py
Library             ../libraries/Traffic.py
Suite Setup         Start A Machine On A Node
Suite Teardown      Run Keywords    Stop Servers    AND    Stop Agents    AND    Stop Lab

*** Variables ***
${TRUNK}            machines:vm1
${WEB}              5e1f0000-0000-4000-8000-000000000071
${SERVICES}         ${CONFIG}/service:service-information/services
${ENDPOINTS}        ${CONFIG}/service:endpoints-info/endpoints
${WAIT}             wait=programmed&timeout=10s

*** Test Cases ***
Pods Of One Machine Reach Each Other And The World
    Add By Cni    ${VM}    p1
    Add By Cni    ${VM}    p2
    Ping Should Pass Once    default:p1    10.11.3.3
    Ping Should Pass Once    default:p1    10.11.3.1
    Ping Should Pass    default:p1    10.11.2.10
    Ping Should Pass    default:far    10.11.3.3
    Traffic Should Pass    default:p1    default:p2    v4    tcp
    Traffic Should Pass    default:p1    default:far    v4    tcp
    Traffic Should Pass    default:far    default:p2    v4    full

Each Has A Tag And The Datastore Knows It
    ${first}=    Tag Of    default:p1
    ${second}=    Tag Of    default:p2
    Should Not Be Equal    ${first}    ${second}
    ${known}=    Sub Port Of    default:p1
    Should Be Equal    ${known}    ${{($TRUNK, $first)}}
    ${answer}=    GET On Session    coeus    ${CONFIG}/ietf-interfaces:interfaces/interface/default%3Ap2
    Should Contain    ${answer.text}    "odl-interface:l2vlan-mode":"trunk-member"
    Should Contain    ${answer.text}    "odl-interface:vlan-id":${second}
    Call By Cni    CHECK    default:p1

Another Network In The Same Machine Is Apart
    Add By Cni    ${VM}    q1    namespace=red    config=${{{"pods": "own"}}}
    Ping Should Pass Once    red:q1    10.11.3.1
    Ping Should Fail    red:q1    10.11.3.3
    Ping Should Fail    default:p1    10.11.3.4
    Delete By Cni    red:q1

A Service Leads Back Through The Trunk
    Start Server    default:p2    TCP    8080
    ${ports}=    Set Variable    http:TCP:80:8080
    ${body}=    Service Body    ${WEB}    web    default    10.96.0.71    ${ports}
    PUT On Session    coeus    ${SERVICES}/${WEB}    json=${body}    params=${WAIT}
    ${one}=    Create List    10.11.3.3
    ${body}=    Endpoints Body    ${WEB}    web    default    ${one}    http:TCP:8080
    PUT On Session    coeus    ${ENDPOINTS}/${WEB}    json=${body}    params=${WAIT}
    ${among}=    Create List    default:p2
    FOR    ${pod}    IN    default:p1    default:p2    default:far
        Service Should Answer    ${pod}    10.96.0.71    80    among=${among}    times=4
    END
    DELETE On Session    coeus    ${SERVICES}/${WEB}
    DELETE On Session    coeus    ${ENDPOINTS}/${WEB}

A Tag That Was Given Back Rests
    ${was}=    Tag Of    default:p2
    Delete By Cni    default:p2
    ${gone}=    Sub Port Of    default:p2
    Should Be Equal    ${gone}    ${None}
    Add By Cni    ${VM}    p3
    ${is}=    Tag Of    default:p3
    Should Not Be Equal    ${was}    ${is}
    Delete By Cni    default:p3

A Tag That Another Has Is Not Chosen
    [Documentation]    An entry that somebody else wrote for the same trunk has the tag that would be next.
    Add By Cni    ${VM}    p4
    ${last}=    Tag Of    default:p4
    ${uid}=    Pod Uid    default:other
    ${says}=    Evaluate    {"parent-interface": $TRUNK, "vlan-id": $last + 1, "mac-address": "02:00:00:00:77:01"}
    ${body}=    Evaluate
    ...    {"pod:pods": [{"uid": $uid, "name": "other", "network-NS": "default", "host-ip-address": "192.168.200.3", "interface": [{"uid": $uid, "ip-address": "10.11.3.200", "coeus-pod:trunk": $says}]}]}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
    Add By Cni    ${VM}    p5
    ${tag}=    Tag Of    default:p5
    Should Be Equal As Integers    ${tag}    ${last + 2}
    Ping Should Pass    default:p5    10.11.2.10
    Delete By Cni    default:p4
    Delete By Cni    default:p5
    Delete Pod    other    default

An Entry May Say The Tag
    ${uid}=    Pod Uid    default:told
    ${says}=    Evaluate    {"parent-interface": $TRUNK, "vlan-id": 4000}
    ${body}=    Evaluate
    ...    {"pod:pods": [{"uid": $uid, "name": "told", "network-NS": "default", "host-ip-address": "192.168.200.3", "port-mac-address": "02:00:00:00:77:02", "interface": [{"uid": $uid, "ip-address": "10.11.3.201", "coeus-pod:trunk": $says}]}]}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
    Add By Cni    ${VM}    told
    ${tag}=    Tag Of    default:told
    Should Be Equal As Integers    ${tag}    4000
    Ping Should Pass    default:told    10.11.2.10
    Delete By Cni    default:told
    ${known}=    Sub Port Of    default:told
    Should Be Equal    ${known}    ${{($TRUNK, 4000)}}
    Delete Pod    told    default

A Sub Port Is No Matter Of A Node That Is No Machine
    ${uid}=    Pod Uid    default:astray
    ${says}=    Evaluate    {"parent-interface": $TRUNK, "vlan-id": 4001}
    ${body}=    Evaluate
    ...    {"pod:pods": [{"uid": $uid, "name": "astray", "network-NS": "default", "host-ip-address": "192.168.200.2", "interface": [{"uid": $uid, "ip-address": "10.11.2.201", "coeus-pod:trunk": $says}]}]}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
    ${answer}=    Add By Cni    2    astray    expected=7
    Should Contain    ${answer}[msg]    sub-port of ${TRUNK}
    Delete Pod    astray    default

A Tag Is Kept Until Nothing Sends With It Any More
    [Documentation]    While the machine's switch does not answer, DEL cannot take the port away, and the entry keeps its tag.
    Add By Cni    ${VM}    p6
    ${tag}=    Tag Of    default:p6
    Kill Daemon Of    ${VM}    ovsdb
    Call By Cni    DEL    default:p6
    ${known}=    Sub Port Of    default:p6
    Should Be Equal    ${known}    ${{($TRUNK, $tag)}}
    Start Daemon Of    ${VM}    ovsdb
    Wait Until Keyword Succeeds    30 s    500 ms    Should Be No Sub Port    default:p6
    End Namespace Of    default:p6

The Trunk Comes And Goes
    Unplug Machine    1    ${VM}
    Wait Until Keyword Succeeds    20 s    300 ms    Resource Should Say    ${OPERATIONAL}/coeus-status:objects/object/default%3Ap1
    ...    no port of any switch has external_ids:iface-id=${TRUNK}
    Plug Machine    1    ${VM}    ${TRUNK}
    Ping Should Pass    default:p1    10.11.2.10    30

VLAN Devices Need A Kernel That Has Them
    [Documentation]    With --trunk-link pods get VLAN devices. Where the kernel has none, ADD says so; where it has, the pod has one, and its tag is that of the entry.
    Kill Agent    ${VM}
    Start Agent In Machine    ${VM}    ${TRUNK}    --trunk-link    trunk0
    ${has}=    Kernel Has Vlans
    IF    ${has}
        Add By Cni    ${VM}    device
        ${shown}=    Inside Pod    default:device    ip    -d    link    show    eth0
        ${known}=    Sub Port Of    default:device
        Should Contain    ${shown}    vlan protocol 802.1Q id ${known}[1]
        Delete By Cni    default:device
    ELSE
        ${answer}=    Add By Cni    ${VM}    device    expected=102
        Should Contain    ${answer}[msg]    this kernel has no VLAN devices
    END
    Kill Agent    ${VM}
    Start Agent In Machine    ${VM}    ${TRUNK}

After All That Nothing Is Left
    Delete By Cni    default:p1
    Nothing Should Be Left    ${VM}
    Tables Should Be As From Scratch

*** Keywords ***
Start A Machine On A Node
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    ${machine}=    Make Machine    1    ${TRUNK}
    Set Suite Variable    ${VM}    ${machine}
    Announce Node    ${VM}    10.11.3.0/24
    Start Agent In Machine    ${VM}    ${TRUNK}
    Start Agent    2
    Network Is    ${VM}
    Network Is    2
    Create And Plug Pod    far    default    2    10.11.2.10    10.11.2.1

Should Be No Sub Port
    [Arguments]    ${pod}
    ${known}=    Sub Port Of    ${pod}
    Should Be Equal    ${known}    ${None}
