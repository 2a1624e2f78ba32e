*** Settings ***
Documentation       Two controllers on one etcd, each at an address of its own: one is active, the other waits. Pods feel nothing when the active one is killed, stopped or
...                 frozen, and what was written before is there.
Resource            ../resources/coeus.resource
Library             ../libraries/Etcd.py
Library             ../libraries/Storm.py
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab On Etcd

*** Test Cases ***
The Second Controller Waits
    Start Controller Named    b
    Wait Until Standby    b

A Killed Controller Is Replaced
    ${before}=    All That Is Configured
    Start Probes    blue:p1    10.11.2.10    35000
    Sleep    1 s
    Signal Controller    a    KILL
    Exit Code Of    a
    Takes Over    b    30
    Nothing Was Lost Or Sent    35000
    ${after}=    All That Is Configured
    Should Be Equal    ${before}    ${after}

What Is Written There Works
    Open Session
    Create And Plug Pod    p4    blue    1    10.11.1.14    10.11.1.1
    All Pods Should Reach All    blue

A Controller That Is Stopped Hands Over Within Seconds
    Start Controller Named    a
    Wait Until Standby    a
    ${before}=    All That Is Configured
    Start Probes    blue:p1    10.11.2.10    15000
    Sleep    1 s
    Signal Controller    b    TERM
    Takes Over    a    12
    ${code}=    Exit Code Of    b
    Should Be Equal As Integers    ${code}    0
    Nothing Was Lost Or Sent    15000
    ${after}=    All That Is Configured
    Should Be Equal    ${before}    ${after}

A Write Waits For An Etcd That Is Away
    Open Session
    Kill Etcd For    5
    Create And Plug Pod    p5    blue    2    10.11.2.15    10.11.2.1
    All Pods Should Reach All    blue

A Controller That Was Frozen Too Long Ends Itself
    Start Controller Named    b
    Wait Until Standby    b
    Start Probes    blue:p1    10.11.2.10    35000
    Signal Controller    a    STOP
    Takes Over    b    30
    Signal Controller    a    CONT
    ${code}=    Exit Code Of    a
    Should Be Equal As Integers    ${code}    3
    Nothing Was Lost Or Sent    35000
    Open Session
    Delete Pod    p5    blue

A Store Is Copied Both Ways
    ${folder}=    Folder Of Copy
    ${wanted}=    All That Is Configured
    ${code}    ${text}=    Copy Store    etcd://127.0.0.1:2379/coeus    sled:${folder}
    Should Be Equal As Integers    ${code}    1
    Should Contain    ${text}    is used by a controller (coeus serve on
    Signal Controller    b    TERM
    Exit Code Of    b
    ${code}    ${text}=    Copy Store    etcd://127.0.0.1:2379/coeus    sled:${folder}
    Should Be Equal As Integers    ${code}    0    ${text}
    Switches Should Be As In    ${folder}
    Start Controller Named    a    sled:${folder}
    Takes Over    a    30
    ${found}=    All That Is Configured
    Should Be Equal    ${wanted}    ${found}
    Nothing Was Sent
    Signal Controller    a    TERM
    Exit Code Of    a
    ${code}    ${text}=    Copy Store    sled:${folder}    etcd://127.0.0.1:2379/coeus
    Should Be Equal As Integers    ${code}    1
    Should Contain    ${text}    is not empty
    ${code}    ${text}=    Copy Store    sled:${folder}    etcd://127.0.0.1:2379/back
    Should Be Equal As Integers    ${code}    0    ${text}
    Start Controller Named    b    etcd://127.0.0.1:2379/back
    Takes Over    b    30
    ${found}=    All That Is Configured
    Should Be Equal    ${wanted}    ${found}
    Nothing Was Sent

*** Keywords ***
Start Two Nodes With Pods
    Start Lab On Etcd    2
    Open Session
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    All Pods Should Reach All    blue
    Wait For Switches

Nothing Was Lost Or Sent
    [Arguments]    ${count}
    ${sent}    ${lost}=    Probes Lost
    Should Be Equal As Integers    ${sent}    ${count}
    Should Be Equal As Integers    ${lost}    0
    Nothing Was Sent

Nothing Was Sent
    FOR    ${node}    IN    1    2
        FOR    ${what}    IN    flow-mods    group-mods    meter-mods
            ${mods}=    Switch Leaf    ${node}    ${what}
            Should Be Equal As Integers    ${mods}    0    ${what} sent to node ${node}
        END
    END
